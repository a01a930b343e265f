import { parseVersion } from './version.ts'

/** Which releases of a program work together: the same minor version, or adjacent ones. */
export interface MinorVersion {
  readonly major: number
  readonly minor: number
}

/** `1.4` of `1.4.2-rc.1`; undefined where the text is not the version of a release. */
export function minorVersionOf(build: string): MinorVersion | undefined {
  const version = parseVersion(build, 'semver')
  if (version === undefined) return undefined
  const [major = 0, minor = 0] = version.segments.map(Number)
  return { major, minor }
}

/** Reads what `minorText` wrote. */
export function parseMinor(text: string): MinorVersion | undefined {
  return minorVersionOf(`${text}.0`)
}

export function minorText({ major, minor }: MinorVersion): string {
  return `${major}.${minor}`
}

/** Negative where `a` is older than `b`. */
export function compareMinors(a: MinorVersion, b: MinorVersion): number {
  return a.major - b.major || a.minor - b.minor
}

/** The first minor version of a major one is adjacent to every version of the major one before. */
export function areAdjacentMinors(a: MinorVersion, b: MinorVersion): boolean {
  if (a.major === b.major) return Math.abs(a.minor - b.minor) <= 1
  const newer = a.major > b.major ? a : b
  return Math.abs(a.major - b.major) === 1 && newer.minor === 0
}
