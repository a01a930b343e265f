import type { FollowedLevel, LogFeed } from '@reeve/kit/log-feed.ts'
import { pino } from 'pino'
import type { LogConfig } from './config/agent-config.ts'
import { REDACTED } from './config/secret.ts'
import { formatLogLine } from './log-line.ts'

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
