import type { FollowedLevel, LogFeed } from '@reeve/kit/log-feed.ts'
import { pino } from 'pino'
import type { Commit, Store } from '../state/index.ts'
import { type LogConfig, REDACTED } from './config/agent-config.ts'

/** The log of the program: structured fields and a message. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Names of fields with secrets, which are redacted in case a caller logs one by mistake. */
const SECRET_FIELDS = [
  'authorization',
  'joinToken',
  'password',
  'secret',
  'SecretID',
  'secretId',
  'token',
]

/** The log of the program with a feed of its lines. */
export interface FollowableLog extends Logger {
  readonly feed: LogFeed
}

/** Level numbers of pino. */
const LEVELS = { debug: 20, info: 30, warn: 40, error: 50 } as const satisfies Record<
  FollowedLevel,
  number
>

/** Makes pino set `lastLevel` on the stream. */
const WITH_LEVEL = Symbol.for('pino.metadata')

interface Follower {
  readonly level: number
  readonly json: boolean
  readonly line: (text: string) => void
}

/**
 * Creates the log, as JSON or plain text; `write` receives whole lines. Followers may request lower
 * levels than the configured one, which are logged only while they are connected.
 */
export function createLog(config: LogConfig, write: (text: string) => void): FollowableLog {
  const followers = new Set<Follower>()
  const stream = {
    [WITH_LEVEL]: true,
    lastLevel: 0,
    write(line: string): void {
      const { lastLevel } = stream
      const isWritten = lastLevel >= LEVELS[config.level]
      let plain: string | undefined
      const text = (json: boolean): string => (json ? line : (plain ??= formatLogLine(line)))
      if (isWritten) write(text(config.json))
      for (const follower of followers)
        if (lastLevel >= follower.level) follower.line(text(follower.json))
    },
  }
  const logger = createLogger(config.level, stream)
  const setLevel = (): void => {
    const numbers = [LEVELS[config.level], ...[...followers].map(({ level }) => level)]
    logger.level = logger.levels.labels[Math.min(...numbers)] ?? config.level
  }
  const feed: LogFeed = {
    follow({ level, json }, line) {
      const follower = { level: LEVELS[level], json, line }
      followers.add(follower)
      setLevel()
      return () => {
        followers.delete(follower)
        setLevel()
      }
    },
    droppedLine(dropped, { json }) {
      const message = 'log lines were dropped because the reader is too slow'
      const entry = { level: 'warn', time: new Date().toISOString(), dropped, message }
      const line = `${JSON.stringify(entry)}\n`
      return json ? line : formatLogLine(line)
    },
  }
  return Object.assign(logger, { feed })
}

function createLogger(level: FollowedLevel, stream: { write(line: string): void }) {
  return pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]),
        censor: REDACTED,
      },
    },
    stream,
  )
}

/**
 * Formats a JSON log line as text: time of day, level, message, fields. Logged text may be
 * untrusted, so control characters and line breaks are escaped.
 */
export function formatLogLine(json: string): string {
  const entry = parseEntry(json)
  if (entry === undefined) return json
  const { time, level, message, err, ...fields } = entry
  const parts = [
    toText(time).slice(11, 23),
    toText(level).toUpperCase().padEnd(5),
    escapeControls(toText(message)),
    ...Object.entries(fields).map(
      ([name, value]) => `${escapeControls(name)}=${formatValue(value)}`,
    ),
  ]
  return `${parts.join(' ')}${formatError(err)}\n`
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

type Entry = Readonly<Record<string, unknown>>

function parseEntry(json: string): Entry | undefined {
  try {
    const parsed: unknown = JSON.parse(json)
    return isEntry(parsed) ? parsed : undefined
  } catch {
    // Not a JSON log line; printed unchanged.
    return undefined
  }
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const CONTROL = /[\p{Cc}\u2028\u2029]/gu
const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t' }

function escapeControls(text: string): string {
  const code = (sign: string): string => sign.charCodeAt(0).toString(16).padStart(4, '0')
  return text.replace(CONTROL, (sign) => SHORT_ESCAPES[sign] ?? `\\u${code(sign)}`)
}

function formatValue(value: unknown): string {
  const isWord = typeof value === 'string' && /^[^\s"=]+$/.test(value)
  return escapeControls(isWord ? value : JSON.stringify(value))
}

/** A Fault is shown by its message; any other error is a bug and is shown with its stack. */
function formatError(err: unknown): string {
  if (!isEntry(err)) return err === undefined ? '' : ` err=${formatValue(err)}`
  const { type, message, stack } = err
  const line = ` err=${formatValue(message)}`
  if (type === 'Fault' || typeof stack !== 'string') return line
  const frames = stack.split('\n').filter((frame) => frame.startsWith('    at '))
  return [line, ...frames.map(escapeControls)].join('\n')
}

interface DebugLog {
  debug(fields: object, message: string): void
}

/** Maximum number of logged rows per commit. */
const LOGGED_ROWS_MAX = 10

/**
 * Logs each commit at the debug level. Together with the log of requests (`onCompleted`), it shows
 * which request led to which commit. No listener is added at other levels.
 */
export function logCommits(store: Pick<Store, 'log'>, log: DebugLog): void {
  store.log.subscribe((commits) => {
    for (const commit of commits) log.debug(summarizeCommit(commit), 'committed')
  })
}

function summarizeCommit({ index, rows, events }: Commit): object {
  return {
    index,
    events: [...new Set(events.map(({ Type }) => Type))],
    rows: rows.slice(0, LOGGED_ROWS_MAX).map(({ table, key }) => `${table} ${key}`),
    ...(rows.length > LOGGED_ROWS_MAX && { furtherRows: rows.length - LOGGED_ROWS_MAX }),
  }
}
