import { installation } from './installation.ts'

/** Returns the version of this program. */
export function readVersion(): string {
  return installation.version
}

/** `reeve version`: returns a line of text, or a JSON object. */
export function describeVersion(isJson: boolean): string {
  const { platform, arch, versions } = process
  const { version, commit, builtAt } = installation
  const { node } = versions
  if (isJson) return JSON.stringify({ version, commit, builtAt, node, platform, arch })
  const build =
    commit === undefined ? 'checkout' : `commit ${commit.slice(0, 12)}, built ${builtAt ?? ''}`
  return `reeve ${version} (${build}, node ${node}, ${platform} ${arch})`
}
