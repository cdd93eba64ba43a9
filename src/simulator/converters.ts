/**
 * Stand-ins for the converters of macOS, as far as Postern calls them. They need ffmpeg, and heif-convert for HEIC; without
 * them they end as a missing program does.
 */
export const CONVERTERS = {
  sips: `#!/bin/sh
# sips -s format jpeg [-Z max] source --out target
while [ $# -gt 0 ]; do
  case "$1" in
    -s) shift 3 ;;
    -Z) max=$2; shift 2 ;;
    --out) target=$2; shift 2 ;;
    *) source=$1; shift ;;
  esac
done
case "$source" in *.heic) heif-convert "$source" "$target.png" >&2 || exit; source=$target.png ;; esac
size=null
[ -n "$max" ] && size="scale=w='min(iw,$max)':h='min(ih,$max)':force_original_aspect_ratio=decrease"
exec ffmpeg -nostdin -v error -protocol_whitelist file -i "$source" -frames:v 1 -vf "$size" -f mjpeg "$target"
`,
  afconvert: `#!/bin/sh
# afconvert -f m4af -d aac source target
exec ffmpeg -nostdin -v error -protocol_whitelist file -i "$5" -vn -c:a aac -f ipod "$6"
`,
} as const;
