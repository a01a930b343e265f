/** How a piece of text stands out; nothing is told by colour alone. */
export type Tone = 'good' | 'bad' | 'warning' | 'added' | 'removed' | 'changed' | 'dim' | 'strong'

const CODES: Readonly<Record<Tone, string>> = {
  good: '32',
  bad: '31',
  warning: '33',
  added: '32',
  removed: '31',
  changed: '33',
  dim: '2',
  strong: '1',
}

export type Paint = (tone: Tone, text: string) => string

export const plainPaint: Paint = (_tone, text) => text

export const colourPaint: Paint = (tone, text) =>
  text === '' ? '' : `\u001b[${CODES[tone]}m${text}\u001b[0m`

/** Colours for a person at a terminal, never for a pipe; `NO_COLOR` and `FORCE_COLOR` decide. */
export function choosePaint(
  environment: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): Paint {
  if ((environment['NO_COLOR'] ?? '') !== '') return plainPaint
  if ((environment['FORCE_COLOR'] ?? '') !== '') return colourPaint
  return isTerminal && environment['TERM'] !== 'dumb' ? colourPaint : plainPaint
}

// eslint-disable-next-line no-control-regex -- escape sequences are what is taken away
const SEQUENCES = /\u001b\[[0-9;]*m/g

// eslint-disable-next-line no-control-regex -- the same, kept between the parts
const PARTS = /(\u001b\[[0-9;]*m)/

/** Columns a text takes on the screen. */
export function widthOf(text: string): number {
  return Array.from(text.replace(SEQUENCES, '')).length
}

/** The beginning of a line that takes at most so many columns; its colours end with it. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  let left = Math.max(0, columns - 1)
  let cut = ''
  for (const part of text.split(PARTS)) {
    if (part.startsWith('\u001b')) cut += part
    else {
      const shown = Array.from(part).slice(0, left)
      cut += shown.join('')
      left -= shown.length
    }
    if (left === 0) break
  }
  return `${cut}…${cut.includes('\u001b') ? '\u001b[0m' : ''}`
}
