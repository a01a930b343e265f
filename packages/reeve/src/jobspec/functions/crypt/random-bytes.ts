import type { Random } from '@reeve/kit/clock.ts'

export function randomBytes(random: Random, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, () => Math.floor(random.next() * 256))
}
