/** How the older hashes cut a message: blocks of 64 bytes, or 128 for those with 64-bit words. */
export interface BlockLayout {
  readonly blockBytes: 64 | 128
  /** MD5 writes numbers with the lowest byte first. */
  readonly isLittleEndian: boolean
}

/**
 * Gives each block to `compress` in turn. The message is followed by one bit, zeros, and its length
 * in bits at the end of the last block.
 */
export function forEachBlock(
  message: Uint8Array,
  { blockBytes, isLittleEndian }: BlockLayout,
  compress: (block: DataView) => void,
): void {
  const lengthBytes = blockBytes / 8
  const wholeCount = Math.floor(message.length / blockBytes)
  const whole = new DataView(message.buffer, message.byteOffset, message.byteLength)
  for (let at = 0; at < wholeCount; at++)
    compress(new DataView(whole.buffer, whole.byteOffset + at * blockBytes, blockBytes))
  const rest = message.subarray(wholeCount * blockBytes)
  const tailBytes = rest.length + 1 + lengthBytes <= blockBytes ? blockBytes : 2 * blockBytes
  const tail = new Uint8Array(tailBytes)
  tail.set(rest)
  tail[rest.length] = 0x80
  const view = new DataView(tail.buffer)
  const bits = BigInt(message.length) * 8n
  view.setBigUint64(isLittleEndian ? tailBytes - lengthBytes : tailBytes - 8, bits, isLittleEndian)
  for (let at = 0; at < tailBytes; at += blockBytes)
    compress(new DataView(tail.buffer, at, blockBytes))
}

/** The words of a state as bytes. */
export function wordsToBytes(words: Uint32Array, isLittleEndian: boolean): Uint8Array {
  const bytes = new Uint8Array(words.length * 4)
  const view = new DataView(bytes.buffer)
  for (const [index, word] of words.entries()) view.setUint32(index * 4, word, isLittleEndian)
  return bytes
}

export function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits))
}

/**
 * The first 64 bits after the point of the roots of the first primes: where the SHA-2 family takes
 * its constants from (FIPS 180-4, sections 4.2 and 5.3), computed rather than copied.
 */
export function rootFractions(count: number, degree: 2 | 3): readonly bigint[] {
  return firstPrimes(count).map(
    (prime) => integerRoot(BigInt(prime) << BigInt(64 * degree), degree) & 0xffffffffffffffffn,
  )
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = []
  for (let candidate = 2; primes.length < count; candidate++)
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate)
  return primes
}

/** The largest whole number whose power is at most the value, by halving. */
function integerRoot(value: bigint, degree: 2 | 3): bigint {
  let low = 0n
  let high = 1n << BigInt(Math.ceil(value.toString(2).length / degree) + 1)
  while (high - low > 1n) {
    const middle = (low + high) / 2n
    if (middle ** BigInt(degree) <= value) low = middle
    else high = middle
  }
  return low
}
