import { err, ok } from '@reeve/kit/result.ts'
import { isList, isObject, type Value } from '@reeve/hcl'
import { formatAddress, HTTP_PORT, parseAddress } from './address.ts'
import type { OptionType } from './kind.ts'
import { constant, option } from './option.ts'
import { stringMatching, secret } from './text-kinds.ts'

/** Server URLs by region. */
type RegionAddresses = Readonly<Record<string, readonly string[]>>

const REGIONS_MAX = 64
const ADDRESSES_MAX = 64

const REGION_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const REGION_RULE =
  'the name of a region: 1 to 128 letters, digits, ".", "_" and "-", the first a letter or digit'
const REGIONS_RULE =
  `at most ${REGIONS_MAX} blocks \`region "name" { addresses = ["https://10.0.0.1:4646"] }\`, ` +
  `each with 1 to ${ADDRESSES_MAX} addresses of servers`

const otherRegions: OptionType<RegionAddresses> = {
  name: 'labelled blocks',
  flag: 'once',
  isMap: true,
  isLabelled: true,
  isSecret: false,
  fromValue: (value) => {
    const pairs = isObject(value) ? Object.entries(value) : undefined
    if (pairs === undefined || pairs.length > REGIONS_MAX) return err(REGIONS_RULE)
    const regions: [string, readonly string[]][] = []
    for (const [name, fields] of pairs) {
      const addresses = REGION_NAME.test(name) ? readAddresses(fields) : undefined
      if (addresses === undefined)
        return err(`${REGIONS_RULE} (look at ${JSON.stringify(name.slice(0, 64))})`)
      regions.push([name, addresses])
    }
    return ok(Object.fromEntries(regions))
  },
  fromString: () => err(`${REGIONS_RULE}, which only a file can hold`),
  merge: (lower, higher) => ({ ...lower, ...higher }),
  toJson: (value) =>
    Object.fromEntries(Object.entries(value).map(([name, addresses]) => [name, { addresses }])),
}

function readAddresses(fields: Value): readonly string[] | undefined {
  if (!isObject(fields)) return undefined
  const { addresses = null, ...others } = fields
  if (!isList(addresses) || Object.keys(others).length > 0) return undefined
  if (addresses.length === 0 || addresses.length > ADDRESSES_MAX) return undefined
  const origins = addresses.map((one) => (typeof one === 'string' ? parseOrigin(one) : undefined))
  return origins.every((one) => one !== undefined) ? origins : undefined
}

/** Parses a server origin: URLs are kept; `host` and `host:port` use plain HTTP. */
function parseOrigin(text: string): string | undefined {
  if (/^https?:\/\//.test(text)) return URL.parse(text)?.origin === text ? text : undefined
  const parsed = parseAddress(text)
  return parsed && `http://${formatAddress(parsed.host, parsed.port ?? HTTP_PORT)}`
}

const noRegions: RegionAddresses = {}

/** Settings for federated regions (docs/how-to/regions.md). */
export const regionOptions = {
  otherRegions: option({
    kind: otherRegions,
    file: ['server', 'region'],
    byDefault: constant(noRegions, 'none'),
    help:
      'Servers of other regions, by the name of the region: requests for it are passed on to them. ' +
      'A block for the own region is allowed and not used, so that one file serves every region.',
    read: (config) => config.server.regions.others,
  }),
  authoritativeRegion: option({
    kind: stringMatching(REGION_RULE, REGION_NAME),
    file: ['server', 'authoritative_region'],
    environment: 'REEVE_AUTHORITATIVE_REGION',
    byDefault: constant(undefined, 'the own region'),
    help:
      'The region in which ACL policies, roles, global tokens, namespaces and node pools are ' +
      'written; every other one keeps copies of them.',
    read: (config) => config.server.regions.authoritative,
  }),
  replicationToken: option({
    kind: secret,
    file: ['acl', 'replication_token'],
    environment: 'REEVE_REPLICATION_TOKEN',
    byDefault: constant(
      undefined,
      'none: needed where another region is authoritative, with ACLs on',
    ),
    help:
      'The secret of a global management token: the servers of this region read with it what they ' +
      'copy, and how roll-outs of multi-region jobs stand in other regions.',
    read: (config) => config.server.regions.replicationToken,
  }),
}
