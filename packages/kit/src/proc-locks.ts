/**
 * Process id of the holder of a record lock on a file, from the contents of `/proc/locks`.
 * Undefined if the table has no such lock, for example because the holder is in another PID
 * namespace. A line reads `1: POSIX ADVISORY WRITE 4242 fd:01:131081 0 EOF`: process, device,
 * inode.
 */
export function findRecordLockHolder(
  table: string,
  file: { readonly dev: bigint; readonly ino: bigint },
): number | undefined {
  const place = `${hex(majorOf(file.dev))}:${hex(minorOf(file.dev))}:${file.ino}`
  for (const line of table.split('\n')) {
    const words = line.trim().split(/\s+/)
    if (words[1] === 'POSIX' && words[5] === place) return Number(words[4])
  }
  return undefined
}

function majorOf(device: bigint): bigint {
  return ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn)
}

function minorOf(device: bigint): bigint {
  return (device & 0xffn) | ((device >> 12n) & ~0xffn & 0xffffffffn)
}

function hex(number: bigint): string {
  return number.toString(16).padStart(2, '0')
}
