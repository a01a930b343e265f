import { sha1 } from '@noble/hashes/legacy.js'
import type { Random } from '@reeve/kit/clock.ts'
import { encodeHex } from '@reeve/kit/bytes.ts'
import { ok } from '@reeve/kit/result.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import type { FunctionDefinition } from '@reeve/hcl'
import { text } from '../argument.ts'
import { define, chargeSteps, failArgument } from '../define.ts'
import { STEPS_PER_HASHED_BYTE } from '../limits.ts'
import { randomBytes } from './random-bytes.ts'

export function uuidFunctions(random: Random): Readonly<Record<string, FunctionDefinition>> {
  return {
    uuidv4: define([], () => ok(toUuid(randomBytes(random, 16), 4))),
    uuidv5: define([text('namespace'), text('name')], ([namespace, name], meter) => {
      const space = NAMESPACES.get(namespace) ?? namespace
      const digits = UUID.test(space) ? space.replaceAll('-', '') : undefined
      if (digits === undefined)
        return failArgument(0, 'namespace must be "dns", "url", "oid", "x500" or a UUID')
      const bytes = [...fromHex(digits), ...encodeUtf8(name)]
      const paid = chargeSteps(meter, bytes.length * STEPS_PER_HASHED_BYTE)
      return paid.ok ? ok(toUuid(sha1(Uint8Array.from(bytes)), 5)) : paid
    }),
  }
}

/** RFC 9562, section 6.6. */
const NAMESPACES: ReadonlyMap<string, string> = new Map([
  ['dns', '6ba7b810-9dad-11d1-80b4-00c04fd430c8'],
  ['url', '6ba7b811-9dad-11d1-80b4-00c04fd430c8'],
  ['oid', '6ba7b812-9dad-11d1-80b4-00c04fd430c8'],
  ['x500', '6ba7b814-9dad-11d1-80b4-00c04fd430c8'],
])

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

function fromHex(digits: string): readonly number[] {
  return Array.from({ length: 16 }, (_, index) =>
    Number.parseInt(digits.slice(index * 2, index * 2 + 2), 16),
  )
}

/** Sets the version and variant bits (RFC 9562, section 4). */
function toUuid(bytes: Uint8Array, version: number): string {
  const marked = Uint8Array.from(bytes.subarray(0, 16))
  marked[6] = ((marked[6] ?? 0) & 0x0f) | (version << 4)
  marked[8] = ((marked[8] ?? 0) & 0x3f) | 0x80
  const hex = encodeHex(marked)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}
