import { DEFAULT_NODE_POOL, GLOBAL_REGION } from '@reeve/contract'
import { LOG_LEVELS } from './agent-config.ts'
import { always, depends, type Option } from './option.ts'
import {
  address,
  duration,
  endpoint,
  host,
  matching,
  oneOf,
  origin,
  path,
  portRanges,
  secret,
} from './text-kinds.ts'
import { bool, integer, listOf, mapOf } from './value-kinds.ts'

/** choices.md: default HTTP port. */
export const HTTP_PORT = 4646

const HOUR_MS = 3_600_000
const MEBIBYTES_MAX = 2 ** 30

const name = matching(
  'a name of 1 to 128 letters, digits, ".", "_" and "-", beginning with a letter or digit',
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
)
/** Reference §8.3. */
const poolName = matching(
  'the name of a pool: 1 to 128 letters, digits, "_" and "-", but not "all"',
  /^(?!all$)[A-Za-z0-9_-]{1,128}$/,
)
const nodeClass = matching('text of at most 128 characters, without spaces', /^\S{0,128}$/)
const port = integer({ min: 0, max: 65_535 })
const mebibytes = integer({ min: 0, max: MEBIBYTES_MAX })

/** RFC 9110: tokens as names; no line breaks in values, or one header could become two. */
const headers = mapOf({
  name: /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/,
  value: /^[\t\x20-\x7e\x80-\xff]{0,4096}$/,
  rule: 'names are those of HTTP headers, values one line each',
})
const nodeMeta = mapOf({
  // oxlint-disable-next-line no-control-regex
  name: /^[^\s\0]{1,128}$/,
  // oxlint-disable-next-line no-control-regex
  value: /^[^\0]{0,4096}$/,
  rule: 'names have no spaces',
})

/** Every setting of an agent, in the order of the documentation. */
export const options = {
  dev: {
    kind: bool,
    flag: { long: '--dev' },
    byDefault: always(false, '`false`'),
    help: 'Server and node in one process for trying things out: loopback only, ACLs off on `/v1`, data in a temporary directory.',
    read: (config) => config.dev,
  } satisfies Option<boolean>,
} as const
