/** The versions of a protocol that one side understands, both included. */
export interface VersionRange {
  readonly oldest: number
  readonly newest: number
}

/**
 * The versions of the channel between nodes and servers that this build speaks. A new version is
 * added when one side can no longer understand the other by ignoring what it does not know; the one
 * before stays for as long as adjacent minor versions work together
 * (docs/explanation/compatibility-promise.md).
 */
export const CHANNEL_VERSIONS: VersionRange = { oldest: 1, newest: 1 }

/** The newest version that both sides speak; undefined where there is none. */
export function commonVersion(ours: VersionRange, theirs: VersionRange): number | undefined {
  const newest = Math.min(ours.newest, theirs.newest)
  return newest >= Math.max(ours.oldest, theirs.oldest) ? newest : undefined
}

/** Why a server does not talk to a node, and which of the two to upgrade. */
export function describeMismatch(server: VersionRange, node: VersionRange): string {
  const older = node.newest < server.oldest ? 'the node' : 'the servers'
  return (
    `this server speaks ${rangeText(server)} of the node channel and the node speaks ` +
    `${rangeText(node)}; upgrade ${older}, one minor version at a time`
  )
}

function rangeText({ oldest, newest }: VersionRange): string {
  return oldest === newest ? `version ${newest}` : `versions ${oldest} to ${newest}`
}
