# Homebrew formula. `make release` writes release/postern.rb from it, with the address and checksum of the release.
# Nobody has built or installed it yet. The only check so far is that Ruby can parse it.
class Postern < Formula
  desc "Local gateway to Apple Messages: REST API, WebSocket and signed webhooks"
  homepage "@HOMEPAGE@"
  url "@URL@"
  version "@VERSION@"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec/"bin/postern"
    man1.install_symlink libexec/"share/man/man1/postern.1"
    completions = libexec/"lib/node_modules/postern/project/dist/src/cli/completions"
    zsh_completion.install_symlink completions/"_postern"
    bash_completion.install_symlink completions/"postern.bash" => "postern"
    fish_completion.install_symlink completions/"postern.fish"
  end

  def caveats
    <<~EOS
      To look around, on a simulated Mac:
        postern demo
      To run it at every login, with its own app that holds the permissions:
        postern install
      Before you remove this formula, run: postern uninstall
    EOS
  end

  test do
    assert_equal version.to_s, shell_output("#{bin}/postern --version").strip
  end
end
