import { pino, type DestinationStream } from 'pino'
import type { LogConfig } from './config/agent-config.ts'
import { REDACTED } from './config/secret.ts'
import { toLine } from './log-line.ts'

/** Where the program says what it does: fields for machines, a message for people. */
export interface ProgramLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Fields that hold secrets on the wire or in the code; a net under the care of every caller. */
const SECRET_FIELDS = [
  'authorization',
  'joinToken',
  'password',
  'secret',
  'SecretID',
  'secretId',
  'token',
]

/** Lines of JSON, or lines for people; `write` takes whole lines. */
export function createLog(config: LogConfig, write: (text: string) => void): ProgramLog {
  const stream: DestinationStream = {
    write: config.json ? write : (line) => write(toLine(line)),
  }
  return pino(
    {
      level: config.level,
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
