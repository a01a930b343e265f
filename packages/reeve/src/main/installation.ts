import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { buildStamp, type BuildStamp } from './build-stamp.ts'

/**
 * Paths of the files that are shipped with the program, and its version. Only this module depends
 * on the location of the program; everything else is the same in a checkout and in an installation.
 */
interface Installation {
  readonly kind: 'checkout' | 'release'
  readonly root: string
  readonly version: string
  /** Undefined in a checkout, whose sources may differ from every commit. */
  readonly commit: string | undefined
  readonly builtAt: string | undefined
  /** The built web UI. */
  readonly web: string
  /** The pages that the server shows under /docs. */
  readonly docs: string
  /** The task helper, which may be missing. */
  readonly helper: string
}

export const installation: Installation =
  buildStamp === undefined ? inCheckout() : ofRelease(buildStamp)

/** A bundle has the same depth in `packages/reeve` as this source file (decision 0098). */
function inCheckout(): Installation {
  const root = join(import.meta.dirname, '../../../..')
  const file = join(root, 'packages/reeve/package.json')
  const { version }: { version?: unknown } = JSON.parse(readFileSync(file, 'utf8'))
  return {
    kind: 'checkout',
    root,
    version: typeof version === 'string' ? version : 'unknown',
    commit: undefined,
    builtAt: undefined,
    web: join(root, 'packages/web/dist'),
    docs: join(root, 'docs'),
    helper: join(root, 'node_modules/.cache/reeve/reeve-task'),
  }
}

/** A release is in `program/<hash>` of its root. */
function ofRelease({ version, commit, builtAt, helper }: BuildStamp): Installation {
  const root = join(import.meta.dirname, '../..')
  return {
    kind: 'release',
    root,
    version,
    commit,
    builtAt,
    web: join(root, 'web'),
    docs: join(root, 'docs'),
    helper: findHelper(root, helper),
  }
}

/** In the npm package, the helper is a separate package for each platform. */
function findHelper(root: string, name: string): string {
  const own = join(root, 'libexec', name)
  if (existsSync(own)) return own
  try {
    const require = createRequire(join(root, 'package.json'))
    return require.resolve(`@reeve/task-${process.platform}-${process.arch}/${name}`)
  } catch {
    // Not available for this platform, or not installed: tasks run without isolation.
    return own
  }
}
