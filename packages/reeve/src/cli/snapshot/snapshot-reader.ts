/**
 * Loads the snapshot reader on demand, because index.ts is imported at every start of the program.
 */
export async function loadSnapshotReader() {
  const { readSnapshotLines: snapshotLines } = await import('./read-snapshot.ts')
  const { readFileChunks: fileChunks, inspectSnapshot } = await import('./read-snapshot.ts')
  return { snapshotLines, fileChunks, inspectSnapshot }
}
