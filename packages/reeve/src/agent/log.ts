/** Log of the agent: structured fields for machines, a message for people. */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

type LogFields = Readonly<Record<string, unknown>>
