/** The range of protocol versions that one side supports, inclusive. */
export interface VersionRange {
  readonly oldest: number
  readonly newest: number
}

/**
 * Supported versions of the protocol between nodes and servers. A new version is added for a change
 * that the other side cannot safely ignore; the previous one stays as long as adjacent minor versions
 * are compatible
 * (docs/explanation/compatibility-promise.md).
 */
export const CHANNEL_VERSIONS: VersionRange = { oldest: 1, newest: 1 }

/** Returns the newest version that both sides support; undefined if there is none. */
export function commonVersion(local: VersionRange, remote: VersionRange): number | undefined {
  const newest = Math.min(local.newest, remote.newest)
  return newest >= Math.max(local.oldest, remote.oldest) ? newest : undefined
}

/** Explains why a server rejects a node, and which of the two to upgrade. */
export function describeMismatch(server: VersionRange, node: VersionRange): string {
  const older = node.newest < server.oldest ? 'the node' : 'the servers'
  return (
    `this server speaks ${formatRange(server)} of the node channel and the node speaks ` +
    `${formatRange(node)}; upgrade ${older}, one minor version at a time`
  )
}

function formatRange({ oldest, newest }: VersionRange): string {
  return oldest === newest ? `version ${newest}` : `versions ${oldest} to ${newest}`
}
