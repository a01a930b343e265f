/** Version information of a release, and the modules that contain it in the program. */

/** One platform that a release is built for, in Node's words. */
export interface Target {
  readonly platform: 'linux'
  readonly arch: 'x64' | 'arm64'
}

export interface ReleaseStamp {
  readonly version: string
  readonly commit: string
  /** Seconds since 1970 of the commit: SOURCE_DATE_EPOCH. */
  readonly epoch: number
  readonly helper: string
  readonly target: Target
}

export function builtAtOf({ epoch }: Pick<ReleaseStamp, 'epoch'>): string {
  return new Date(epoch * 1_000).toISOString().replace('.000Z', 'Z')
}

/** In place of packages/reeve/src/main/build-stamp.ts. */
export function stampText(stamp: ReleaseStamp): string {
  const { version, commit, helper } = stamp
  const values = { version, commit, builtAt: builtAtOf(stamp), helper }
  const texts = {
    commandNote: '',
    runtimeHint: 'Start it with bin/reeve of the installation, which brings its own.',
    missingPart: 'Reeve was replaced or damaged on disk: restart it, or install it again.',
    postgresHint: '',
  }
  return `export const buildStamp = ${JSON.stringify(values)}
export const setupTexts = ${JSON.stringify(texts)}
`
}

/**
 * A release brings the compiled code of its modules. Node names the folder of a cache by its
 * version, its flags and the processor's features: where these differ from the build's, each user
 * has a cache of their own, and nothing is ever written below the installation.
 */
export function cacheText(): string {
  return `import { enableCompileCache } from 'node:module'
import { existsSync as cacheExists } from 'node:fs'
import { join as joinPath } from 'node:path'
import { cachedDataVersionTag } from 'node:v8'
{
  const { CACHE_DIRECTORY, XDG_CACHE_HOME, HOME } = process.env
  const shipped = joinPath(import.meta.dirname, '../cache')
  const tag = \`\${process.version}-\${process.arch}-\${cachedDataVersionTag().toString(16).padStart(8, '0')}\`
  const home = CACHE_DIRECTORY ?? XDG_CACHE_HOME ?? (HOME === undefined ? undefined : joinPath(HOME, '.cache'))
  if (cacheExists(joinPath(shipped, tag))) enableCompileCache({ directory: shipped, portable: true })
  else if (home?.startsWith('/')) enableCompileCache({ directory: joinPath(home, 'reeve'), portable: true })
}
`
}
