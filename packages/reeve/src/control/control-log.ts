/** Where loops report what nobody asked for. */
export interface ControlLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
