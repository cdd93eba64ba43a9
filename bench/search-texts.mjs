// Writes texts like people's, for the measurements of search: words by Zipf's law, names, times, links, and other
// languages.
import { Chance } from '../dist/src/features/simulator/chatter.js';
import { encodeAttributedBody } from '../dist/src/features/simulator/typedstream.js';

const COMMON =
  `the to you and a it is that in we of for on me my have be so are was not with this what just can at your do if but
  come see get go up out about when there one how good know time like will all now see let back think been here going
  day really today want home some work then them right more too they great tomorrow over dinner night hey love sure ok
  see maybe after hello help held company computer coming photo weekend school umbrella birthday`.split(/\s+/);
const SYLLABLES = 'ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu bra cle dri flo gru sta tre pli'.split(
  ' ',
);
const VOCABULARY = 60_000;
const OTHERS = [
  ['明日', '学校', 'に', '行き', 'ます', '東京', '駅', 'で', '会い', 'ましょう', '今日', 'は', '天気', 'が', 'いい'],
  ['我们', '在', '学校', '等', '你', '今天', '晚上', '吃饭', '好的', '谢谢', '明天', '见'],
  ['สวัสดี', 'ครับ', 'วันนี้', 'ไป', 'โรงเรียน', 'กิน', 'ข้าว', 'ที่', 'บ้าน'],
  ['مَرْحَبًا', 'كيف', 'حالك', 'اليوم', 'في', 'البيت', 'شكرا', 'غدا'],
  ['привет', 'как', 'дела', 'сегодня', 'приду', 'домой', 'спасибо', 'ёлка'],
  ['학교에', '가요', '오늘', '저녁', '같이', '먹어요', '고마워'],
];
const EMOJI = ['👍', '😂', '❤️', '🎉', '👍🏽', '👨‍👩‍👧', '🍅', '🙏'];

/** Replaces the texts of a filled database. One row in a thousand has the word "xylophone". */
export function retext({ sqlite }, seed = 7) {
  const chance = new Chance(seed);
  const rare = Array.from({ length: VOCABULARY }, () =>
    Array.from({ length: 1 + chance.below(4) }, () => chance.of(SYLLABLES)).join(''),
  );
  const word = () => {
    const rank = Math.floor(Math.exp(chance.next() * Math.log(VOCABULARY + COMMON.length))) - 1;
    return COMMON[rank] ?? rare[rank - COMMON.length] ?? 'the';
  };
  const text = () => {
    const isOther = chance.in(0.12);
    const others = isOther ? chance.of(OTHERS) : [];
    const words = Array.from({ length: 2 + Math.floor(chance.next() ** 3 * 40) }, () =>
      isOther ? chance.of(others) : word(),
    );
    if (chance.in(0.05)) words.push(`${1 + chance.below(12)}:${10 + chance.below(50)}`);
    if (chance.in(0.02)) words.push(`https://${word()}.example/${chance.guid()}`);
    if (chance.in(0.001)) words.push('xylophone');
    if (chance.in(0.12)) words.push(chance.of(EMOJI));
    return words.join(isOther && others[0] !== 'привет' && others[0] !== '학교에' && others[0] !== 'مَرْحَبًا' ? '' : ' ');
  };
  const update = sqlite.prepare('UPDATE message SET text = ?, attributedBody = ? WHERE ROWID = ?');
  const rows = sqlite
    .prepare(
      'SELECT ROWID, text IS NOT NULL FROM message WHERE attributedBody IS NOT NULL AND associated_message_type = 0',
    )
    .all();
  sqlite.exec('DROP TRIGGER IF EXISTS update_message_date_after_update_on_message; BEGIN');
  for (const [row, hasText] of rows) {
    const body = text();
    update.run(
      hasText ? body : null,
      encodeAttributedBody(body, [{ length: body.length, attributes: { __kIMMessagePartAttributeName: 0 } }]),
      row,
    );
  }
  sqlite.exec('COMMIT');
}
