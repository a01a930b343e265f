import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BODY_LIMITS, CHUNK_LIMITS, PIPELINING_LIMITS, SCHEDULER_LIMITS } from '../../http/index.ts'
import { LIMITS } from '../../model/index.ts'
import { installation } from '../installation.ts'
import {
  LIMIT_DESCRIPTIONS,
  PORT_DESCRIPTIONS,
  QUEUE_DESCRIPTIONS,
  type LimitDescription,
} from './limit-descriptions.ts'
import { limitOptions } from './limit-options.ts'
import { describeFilePath, type Option } from './option.ts'
import { options } from './options.ts'

/** The page with the tables of limits; running this file regenerates it. */
export const LIMITS_DOCUMENT = join(installation.root, 'docs/reference/limits.md')

const BEGIN = '<!-- limits: written by packages/reeve/src/main/config/limit-documentation.ts -->'
const END = '<!-- end of limits -->'

/** Replaces the tables of the page with those of the current limits. */
export function replaceTables(page: string): string {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin === -1 || end < begin) throw new Error(`the page has no place for the tables: ${BEGIN}`)
  return `${page.slice(0, begin + BEGIN.length)}\n${renderTables()}${page.slice(end)}`
}

/** What happens when a setting is exceeded. Except for connections, callers get an HTTP error. */
const EXCEEDED_TEXT: Readonly<Record<string, string>> = {
  limitConnections: 'the connection is closed at once',
  requestsPerSecond: '429 with `X-RateLimit-Reset`',
}
const REJECTED = '429 with `Retry-After`; the text names the setting'

function renderTables(): string {
  const settings: [string, Option<unknown>][] = [
    ...Object.entries(limitOptions),
    ['requestsPerSecond', options.requestsPerSecond],
  ]
  const rows = settings.map(([key, { file, byDefault, help }]) => [
    `\`${describeFilePath(file ?? [])}\``,
    byDefault.text,
    help,
    EXCEEDED_TEXT[key] ?? REJECTED,
  ])
  const port = { ...BODY_LIMITS, ...CHUNK_LIMITS, ...PIPELINING_LIMITS }
  return [
    renderSection('Settings', ['Setting', 'Default', 'Bounds', 'Past it'], rows),
    renderFixedLimits('Bodies and connections', PORT_DESCRIPTIONS, port),
    renderFixedLimits('Queue for the event loop', QUEUE_DESCRIPTIONS, { ...SCHEDULER_LIMITS }),
    ...Object.entries(LIMIT_DESCRIPTIONS).map(([title, described]) =>
      renderFixedLimits(title, described, LIMITS),
    ),
  ].join('')
}

function renderFixedLimits(
  title: string,
  described: Readonly<Record<string, LimitDescription>>,
  values: Readonly<Record<string, unknown>>,
): string {
  const rows = Object.entries(described).map(([name, [bounds, past]]) => [
    `\`${name}\``,
    formatLimit(name, values[name]),
    bounds,
    past,
  ])
  return renderSection(title, ['Limit', 'Value', 'Bounds', 'Past it'], rows)
}

function renderSection(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return `\n## ${title}\n\n${lines.join('\n')}\n`
}

/** Formats a limit. The unit is the suffix of its name, or precedes a suffix such as `Max`. */
function formatLimit(name: string, value: unknown): string {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(([part, one]) => formatLimit(part, one))
      .join(', ')
  if (typeof value !== 'number') throw new Error(`the limit ${name} is no number`)
  if (/Ms(Max|Min|Default)?$/.test(name)) return formatDuration(value)
  if (/Megabytes/.test(name)) return formatBytes(value * 1024 * 1024)
  if (/(Bytes|bytes)/.test(name)) return formatBytes(value)
  return value.toLocaleString('en-US')
}

const TIME_UNITS = [
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
  [1, 'ms'],
] as const

function formatDuration(ms: number): string {
  const [size, unit] = TIME_UNITS.find(([one]) => ms % one === 0 && ms >= one) ?? [1, 'ms']
  return `${ms / size} ${unit}`
}

const BYTE_UNITS = [
  [1024 * 1024 * 1024, 'GiB'],
  [1024 * 1024, 'MiB'],
  [1024, 'KiB'],
] as const

function formatBytes(bytes: number): string {
  const found = BYTE_UNITS.find(([one]) => bytes % one === 0)
  if (found === undefined) return `${bytes.toLocaleString('en-US')} bytes`
  const [size, unit] = found
  return `${bytes / size} ${unit}`
}

if (import.meta.main)
  writeFileSync(LIMITS_DOCUMENT, replaceTables(readFileSync(LIMITS_DOCUMENT, 'utf8')))
