const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Accessor IDs and secrets are UUIDs. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}
