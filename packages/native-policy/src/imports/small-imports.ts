import { decodeBase64, encodeBase64 } from '@reeve/kit/base64.ts'
import { parseAddress, parseCidr, type Cidr } from '@reeve/kit/ip-address.ts'
import { bytesOfText, textOfBytes } from '../value/bytes.ts'
import { createMap } from '../value/map.ts'
import { typeOf, type CallContext, type MapValue } from '../value/value.ts'
import { typed } from './define.ts'

/** The import `base64`: sections 4 and 5 of RFC 4648. */
export function base64Import(): MapValue {
  return createMap({
    encode: typed('encode', ['string'], ([text]) => encodeBase64(bytesOfText(text))),
    decode: typed('decode', ['string'], ([text], context) => decoded(text, 'decode', context)),
    urlencode: typed('urlencode', ['string'], ([text]) =>
      encodeBase64(bytesOfText(text)).replaceAll('+', '-').replaceAll('/', '_'),
    ),
    urldecode: typed('urldecode', ['string'], ([text], context) =>
      decoded(text.replaceAll('-', '+').replaceAll('_', '/'), 'urldecode', context),
    ),
  })
}

function decoded(text: string, name: string, context: CallContext): string {
  const bytes = decodeBase64(text)
  return bytes === undefined ? context.fail(`${name}: the text is no base64`) : textOfBytes(bytes)
}

export function typesImport(): MapValue {
  return createMap({ type_of: typed('type_of', ['any'], ([value]) => typeOf(value)) })
}

export function unitsImport(): MapValue {
  return createMap({
    kilobyte: 1024,
    megabyte: 1024 ** 2,
    gigabyte: 1024 ** 3,
    terabyte: 1024 ** 4,
    petabyte: 1024 ** 5,
  })
}

export function runtimeImport(version: string): MapValue {
  return createMap({ version })
}

/** The import `sockaddr`: IP addresses and networks. */
export function sockaddrImport(): MapValue {
  return createMap({
    is_contained: typed('is_contained', ['string', 'string'], ([outer, inner], context) =>
      contains(network(outer, context), network(inner, context)),
    ),
    is_equal: typed('is_equal', ['string', 'string'], ([left, right], context) => {
      const [a, b] = [network(left, context), network(right, context)]
      return contains(a, b) && contains(b, a)
    }),
    is_ipv4: typed('is_ipv4', ['string'], ([text]) => findNetwork(text)?.bits === 32),
    is_ipv6: typed('is_ipv6', ['string'], ([text]) => findNetwork(text)?.bits === 128),
  })
}

function network(text: string, context: CallContext): Cidr {
  return findNetwork(text) ?? context.fail(`${JSON.stringify(text)} is no address or network`)
}

/** An address is a network of one address. A port is ignored. */
function findNetwork(text: string): Cidr | undefined {
  const prefix = parseCidr(text)
  if (prefix.ok) return prefix.value
  const found = parseAddress(withoutPort(text))
  return found === undefined ? undefined : { ...found, length: found.bits }
}

function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::[0-9]+)?$/.exec(text)?.[1]
  if (bracketed !== undefined) return bracketed
  return /^[0-9.]+:[0-9]+$/.test(text) ? text.slice(0, text.indexOf(':')) : text
}

function contains(outer: Cidr, inner: Cidr): boolean {
  if (outer.bits !== inner.bits || outer.length > inner.length) return false
  const rest = BigInt(outer.bits - outer.length)
  return outer.address >> rest === inner.address >> rest
}
