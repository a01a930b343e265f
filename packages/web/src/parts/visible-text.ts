/** ANSI colour sequences. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const ANSI_COLOURS = /\u001b\[[0-9;]*m/g

/** Control characters and bidirectional overrides, which can disguise text. */
// oxlint-disable-next-line no-control-regex -- the same
const INVISIBLE_CHARACTERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/**
 * Makes untrusted text safe to display: removes colours, and replaces control characters and
 * bidirectional overrides by visible symbols. Line feeds and tabs stay.
 */
export function visibleText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(ANSI_COLOURS, '')
    .replaceAll(INVISIBLE_CHARACTERS, visibleSign)
}

/** Like `visibleText`, for names: line feeds and tabs are replaced too. */
export function visibleName(name: string): string {
  return name.replaceAll(/[\n\t]/g, visibleSign).replaceAll(INVISIBLE_CHARACTERS, visibleSign)
}

/** First code point of the Unicode symbols for ASCII control characters. */
const CONTROL_PICTURES = 0x24_00

function visibleSign(character: string): string {
  const code = character.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(CONTROL_PICTURES + code)
  return code === 0x7f ? '␡' : `\\u${code.toString(16).padStart(4, '0')}`
}
