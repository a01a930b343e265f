import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PRODUCT_ROOT } from './product-root.ts'

/** What this program is, as its package says. */
export function readVersion(): string {
  const file = join(PRODUCT_ROOT, 'packages/reeve/package.json')
  const { version }: { version?: unknown } = JSON.parse(readFileSync(file, 'utf8'))
  return typeof version === 'string' ? version : 'unknown'
}

/** `reeve version`: one line for people, or one object for machines. */
export function describeVersion(isJson: boolean): string {
  const { platform, arch, versions } = process
  const version = readVersion()
  if (isJson) return JSON.stringify({ version, node: versions.node, platform, arch })
  return `reeve ${version} (node ${versions.node}, ${platform} ${arch})`
}
