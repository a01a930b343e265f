/** A segment of a path: its name, and the path up to it. */
export interface PathSegment {
  readonly name: string
  readonly path: string
}

/** Returns the segments of a path: `/alloc/logs` has `/alloc` and `/alloc/logs`. */
export function pathSegments(path: string): readonly PathSegment[] {
  const names = path.split('/').filter((name) => name !== '')
  return names.map((name, index) => ({ name, path: `/${names.slice(0, index + 1).join('/')}` }))
}

export function joinPath(path: string, name: string): string {
  return `${path === '/' ? '' : path}/${name}`
}

/** Reports whether bytes look like text: no zero byte and few control characters. */
export function isText(bytes: Uint8Array): boolean {
  let controlCount = 0
  for (const byte of bytes) {
    if (byte === 0) return false
    if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 13 && byte !== 27) controlCount += 1
  }
  return controlCount * 20 <= bytes.length
}
