/**
 * Where the agent says what it does. The fields are data for machines, the message is a sentence
 * for people.
 */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

type LogFields = Readonly<Record<string, unknown>>
