import { MONTHS, WEEKDAYS } from '@reeve/kit/calendar.ts'
import type { DateTimeFields } from './calendar.ts'

/**
 * A layout shows how the moment `Mon Jan 2 15:04:05 2006 MST (-0700)` would be written. Longer
 * pieces come first where one begins with another.
 */
const PIECES = [
  'January',
  'Jan',
  'Monday',
  'Mon',
  'MST',
  '2006',
  '__2',
  '_2',
  '002',
  '01',
  '02',
  '03',
  '04',
  '05',
  '06',
  '15',
  'PM',
  'pm',
  '-07:00:00',
  '-070000',
  '-07:00',
  '-0700',
  '-07',
  'Z07:00:00',
  'Z070000',
  'Z07:00',
  'Z0700',
  'Z07',
  '1',
  '2',
  '3',
  '4',
  '5',
] as const
export type PieceName = (typeof PIECES)[number]

export type LayoutPiece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'piece'; readonly name: PieceName }
  | {
      readonly type: 'fraction'
      readonly separator: string
      readonly digits: number
      readonly isTrimmed: boolean
    }

const FRACTION = /^([.,])(0+|9+)(?![0-9])/

export function parseLayout(layout: string): readonly LayoutPiece[] {
  const pieces: LayoutPiece[] = []
  let text = ''
  let at = 0
  while (at < layout.length) {
    const found = pieceAt(layout, at)
    if (found === undefined) {
      text += layout.charAt(at++)
      continue
    }
    if (text !== '') pieces.push({ type: 'text', text })
    text = ''
    pieces.push(found.piece)
    at += found.length
  }
  if (text !== '') pieces.push({ type: 'text', text })
  return pieces
}

function pieceAt(
  layout: string,
  at: number,
): { readonly piece: LayoutPiece; readonly length: number } | undefined {
  const rest = layout.slice(at, at + 40)
  const fraction = FRACTION.exec(rest)
  if (fraction !== null) {
    const [whole, separator = '.', digits = ''] = fraction
    const isTrimmed = digits.startsWith('9')
    const piece = { type: 'fraction', separator, digits: digits.length, isTrimmed } as const
    return { piece, length: whole.length }
  }
  const name = PIECES.find((one) => rest.startsWith(one) && !isWord(one, rest))
  if (name === undefined) return undefined
  return { piece: { type: 'piece', name }, length: name.length }
}

/** `Month` does not begin with a weekday, nor `Janet` with a month. */
function isWord(name: string, rest: string): boolean {
  return (name === 'Jan' || name === 'Mon') && /^[a-z]/.test(rest.slice(3))
}

export function formatTime(face: DateTimeFields, layout: string): string {
  return parseLayout(layout)
    .map((piece) => {
      if (piece.type === 'text') return piece.text
      if (piece.type === 'piece') return WRITERS[piece.name](face)
      return fractionText(face.nanosecond, piece)
    })
    .join('')
}

function fractionText(
  nanosecond: number,
  { separator, digits, isTrimmed }: Extract<LayoutPiece, { type: 'fraction' }>,
): string {
  const all = padded(nanosecond, 9).padEnd(digits, '0').slice(0, digits)
  const shown = isTrimmed ? all.replace(/0+$/, '') : all
  return shown === '' ? '' : `${separator}${shown}`
}

type Writer = (face: DateTimeFields) => string

const WRITERS: Readonly<Record<PieceName, Writer>> = {
  January: ({ month }) => MONTHS[month - 1] ?? '',
  Jan: ({ month }) => MONTHS[month - 1]?.slice(0, 3) ?? '',
  Monday: ({ weekday }) => WEEKDAYS[weekday] ?? '',
  Mon: ({ weekday }) => WEEKDAYS[weekday]?.slice(0, 3) ?? '',
  MST: (face) => face.zone ?? zoneText(face, '-07').replace(/^([+-]\d\d)00$/, '$1'),
  '2006': ({ year }) => (year < 0 ? `-${padded(-year, 4)}` : padded(year, 4)),
  '06': ({ year }) => padded(((year % 100) + 100) % 100),
  __2: ({ yearDay }) => String(yearDay).padStart(3),
  '002': ({ yearDay }) => padded(yearDay, 3),
  _2: ({ day }) => String(day).padStart(2),
  '01': ({ month }) => padded(month),
  '1': ({ month }) => String(month),
  '02': ({ day }) => padded(day),
  '2': ({ day }) => String(day),
  '15': ({ hour }) => padded(hour),
  '03': ({ hour }) => padded(hour % 12 === 0 ? 12 : hour % 12),
  '3': ({ hour }) => String(hour % 12 === 0 ? 12 : hour % 12),
  '04': ({ minute }) => padded(minute),
  '4': ({ minute }) => String(minute),
  '05': ({ second }) => padded(second),
  '5': ({ second }) => String(second),
  PM: ({ hour }) => (hour >= 12 ? 'PM' : 'AM'),
  pm: ({ hour }) => (hour >= 12 ? 'pm' : 'am'),
  '-07:00:00': (face) => zoneText(face, '-07:00:00'),
  '-070000': (face) => zoneText(face, '-070000'),
  '-07:00': (face) => zoneText(face, '-07:00'),
  '-0700': (face) => zoneText(face, '-0700'),
  '-07': (face) => zoneText(face, '-07'),
  'Z07:00:00': (face) => zoneText(face, 'Z07:00:00'),
  Z070000: (face) => zoneText(face, 'Z070000'),
  'Z07:00': (face) => zoneText(face, 'Z07:00'),
  Z0700: (face) => zoneText(face, 'Z0700'),
  Z07: (face) => zoneText(face, 'Z07'),
}

/** `Z` first means that UTC itself is written so. */
function zoneText({ offset }: DateTimeFields, form: string): string {
  if (form.startsWith('Z') && offset === 0) return 'Z'
  const size = Math.abs(offset)
  const colon = form.includes(':') ? ':' : ''
  const digits = form.replace(/[^0-9]/g, '').length
  const parts = [size / 3600, (size % 3600) / 60, size % 60].map((part) => padded(Math.floor(part)))
  return (offset < 0 ? '-' : '+') + parts.slice(0, digits / 2).join(colon)
}

function padded(value: number, length = 2): string {
  return String(value).padStart(length, '0')
}
