/**
 * A structured log: fields for machines, a message for people. A component that needs a part of it
 * takes `Pick<Logger, …>`.
 */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
