/**
 * The process that has a record lock on a file, by the kernel's table `/proc/locks`; undefined when
 * the table has none, which may be because the process is in another process namespace. A line
 * reads `1: POSIX  ADVISORY  WRITE 4242 fd:01:131081 0 EOF`: process, device, file.
 */
export function lockHolderIn(
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
