/** One step of the way to a file: its name, and the path that leads to it. */
export interface Step {
  readonly name: string
  readonly path: string
}

/** `/alloc/logs` is reached by `/`, `/alloc` and `/alloc/logs`. */
export function stepsTo(path: string): readonly Step[] {
  const names = path.split('/').filter((name) => name !== '')
  return names.map((name, index) => ({ name, path: `/${names.slice(0, index + 1).join('/')}` }))
}

export function childOf(path: string, name: string): string {
  return `${path === '/' ? '' : path}/${name}`
}

/** Whether bytes read as a text: what holds a zero, or much that is no letter, does not. */
export function isText(bytes: Uint8Array): boolean {
  let strange = 0
  for (const byte of bytes) {
    if (byte === 0) return false
    if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 13 && byte !== 27) strange += 1
  }
  return strange * 20 <= bytes.length
}
