import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Body } from '../syntax/tree.ts'
import type { Diagnostic } from '../text/diagnostic.ts'
import { makeObject, type ObjectValue, type Value } from '../value/value.ts'
import { decodeBody } from './decode.ts'
import { OPEN_BODY, type DecodedBlock, type DecodedBody, type DecodeOptions } from './schema.ts'

/**
 * Converts any body to an object: attributes become members, the blocks of one type a list of
 * objects.
 */
export function bodyToValue(
  body: Body,
  options: DecodeOptions,
): Result<ObjectValue, readonly Diagnostic[]> {
  const decoded = decodeBody(body, OPEN_BODY, options)
  return decoded.ok ? ok(decodedToValue(decoded.value)) : err(decoded.error)
}

/**
 * Even a single block becomes a list, so that callers handle one shape. Labels become nested
 * objects.
 */
export function decodedToValue(body: DecodedBody): ObjectValue {
  const members = new Map<string, Value>()
  for (const { name, value } of body.attributes.values()) members.set(name, value)
  const byType = new Map<string, Value[]>()
  for (const block of body.blocks) {
    const list = byType.get(block.type)
    if (list === undefined) byType.set(block.type, [blockToValue(block)])
    else list.push(blockToValue(block))
  }
  for (const [type, list] of byType) members.set(type, list)
  return makeObject(members)
}

function blockToValue(block: DecodedBlock): ObjectValue {
  let value = decodedToValue(block.body)
  for (const label of block.labels.toReversed()) value = makeObject([[label, value]])
  return value
}
