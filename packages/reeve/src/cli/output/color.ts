/** Text style; information is never given by color alone. */
export type TextStyle =
  | 'good'
  | 'bad'
  | 'warning'
  | 'added'
  | 'removed'
  | 'changed'
  | 'dim'
  | 'strong'

const ANSI_CODES: Readonly<Record<TextStyle, string>> = {
  good: '32',
  bad: '31',
  warning: '33',
  added: '32',
  removed: '31',
  changed: '33',
  dim: '2',
  strong: '1',
}

export type Paint = (tone: TextStyle, text: string) => string

export const noPaint: Paint = (_tone, text) => text

export const ansiPaint: Paint = (tone, text) =>
  text === '' ? '' : `\u001b[${ANSI_CODES[tone]}m${text}\u001b[0m`

/** Selects colors for a terminal, unless `NO_COLOR` or `FORCE_COLOR` decides. */
export function choosePaint(
  environment: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): Paint {
  if ((environment['NO_COLOR'] ?? '') !== '') return noPaint
  if ((environment['FORCE_COLOR'] ?? '') !== '') return ansiPaint
  return isTerminal && environment['TERM'] !== 'dumb' ? ansiPaint : noPaint
}

// eslint-disable-next-line no-control-regex -- escape sequences are what is taken away
const ANSI_SEQUENCES = /\u001b\[[0-9;]*m/g

// eslint-disable-next-line no-control-regex -- the same, kept between the parts
const ANSI_SPLIT = /(\u001b\[[0-9;]*m)/

/** Width of a text on the screen, without escape sequences. */
export function displayWidth(text: string): number {
  return Array.from(text.replace(ANSI_SEQUENCES, '')).length
}

/** Truncates a line to a width and resets its colors. */
export function truncateToWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  let remaining = Math.max(0, columns - 1)
  let truncated = ''
  for (const part of text.split(ANSI_SPLIT)) {
    if (part.startsWith('\u001b')) truncated += part
    else {
      const shown = Array.from(part).slice(0, remaining)
      truncated += shown.join('')
      remaining -= shown.length
    }
    if (remaining === 0) break
  }
  return `${truncated}…${truncated.includes('\u001b') ? '\u001b[0m' : ''}`
}

/** Styles of the states of both APIs; unknown states are bold. */
const STATUS_STYLES: Readonly<Record<string, TextStyle>> = {
  running: 'good',
  ready: 'good',
  complete: 'dim',
  successful: 'good',
  healthy: 'good',
  success: 'good',
  eligible: 'good',
  alive: 'good',
  pending: 'warning',
  blocked: 'warning',
  paused: 'warning',
  unknown: 'warning',
  disconnected: 'warning',
  initializing: 'warning',
  ineligible: 'warning',
  draining: 'warning',
  failed: 'bad',
  failing: 'bad',
  degraded: 'warning',
  deploying: 'warning',
  scheduled: 'dim',
  stopped: 'dim',
  stopping: 'dim',
  replaced: 'dim',
  failure: 'bad',
  lost: 'bad',
  down: 'bad',
  unhealthy: 'bad',
  dead: 'dim',
  canceled: 'dim',
  cancelled: 'dim',
}

export function statusStyle(state: string): TextStyle {
  return STATUS_STYLES[state] ?? 'strong'
}
