/**
 * What reads snapshots. Loaded when it is needed: whoever imports the door of this folder does so
 * at every start of the program.
 */
export async function loadSnapshotReader() {
  const { snapshotLines } = await import('./read-snapshot.ts')
  const { fileChunks, inspectSnapshot } = await import('./inspect-snapshot.ts')
  return { snapshotLines, fileChunks, inspectSnapshot }
}
