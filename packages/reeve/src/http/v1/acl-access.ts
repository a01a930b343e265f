import {
  HOST_VOLUME_CAPABILITIES,
  NAMESPACE_CAPABILITIES,
  NODE_POOL_CAPABILITIES,
  OPERATOR_CAPABILITIES,
  v1Routes,
  VARIABLE_CAPABILITIES,
  type AclAccess,
} from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Caller } from '../../acl/index.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import { json } from '../answer.ts'
import { read, type Endpoint } from './endpoint.ts'
import { asked } from './node-answer.ts'
import { anyone } from './requirements.ts'

type Grants = Caller['grants']

/** Returns the route that checks a capability of the caller, by the grants that all routes use. */
export function aclAccessEndpoints({ aclEnabled }: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.checkAccess, anyone, ({ caller, namespace, query }) =>
      asked(async () => {
        const { capability: Capability = '', name: Name = '' } = query
        const allowed = check(caller.grants, { capability: Capability, namespace, name: Name })
        if (!allowed.ok) return allowed
        const Allowed = allowed.value
        const answer: AclAccess = {
          Capability,
          Namespace: namespace,
          Name,
          Allowed,
          AclEnabled: aclEnabled,
        }
        return ok(json(answer))
      }),
    ),
  ]
}

interface Question {
  /** `submit-job` or, with its kind, `node:write`. */
  readonly capability: string
  readonly namespace: string
  readonly name: string
}

const LEVELS = ['read', 'write'] as const

function check(
  grants: Grants,
  { capability, namespace, name }: Question,
): Result<boolean, Refusal> {
  if (capability === '') return invalid('missing capability')
  if (capability === 'management') return ok(grants.isManagement)
  const colon = capability.indexOf(':')
  const kind = colon === -1 ? 'namespace' : capability.slice(0, colon)
  const word = capability.slice(colon + 1)
  switch (kind) {
    case 'namespace':
      return held(NAMESPACE_CAPABILITIES, word, (one) =>
        namespace === '*' ? grants.allowsSomewhere(one) : grants.allows(namespace, one),
      )
    case 'node':
      return held(LEVELS, word, (one) => grants.node(one))
    case 'agent':
      return held(LEVELS, word, (one) => grants.agent(one))
    case 'operator':
      return held([...LEVELS, ...OPERATOR_CAPABILITIES], word, (one) => grants.operator(one))
    case 'node_pool':
      return (
        named(name, kind) ?? held(NODE_POOL_CAPABILITIES, word, (one) => grants.nodePool(name, one))
      )
    case 'host_volume':
      return (
        named(name, kind) ??
        held(HOST_VOLUME_CAPABILITIES, word, (one) => grants.hostVolume(name, one))
      )
    case 'variables':
      if (namespace === '*')
        return invalid('a capability of the kind variables needs one namespace, not *')
      return (
        named(name, kind) ??
        held(VARIABLE_CAPABILITIES, word, (one) => grants.variable(namespace, name, one))
      )
    default:
      return invalid(`unknown kind ${JSON.stringify(kind)}; use one of ${KINDS}`)
  }
}

const KINDS = 'namespace, node, agent, operator, node_pool, host_volume, variables'

function named(name: string, kind: string): Result<boolean, Refusal> | undefined {
  return name === '' ? invalid(`a capability of the kind ${kind} needs a name`) : undefined
}

/** Checks a capability by name. `deny` appears in rules but is not a capability. */
function held<Word extends string>(
  words: readonly Word[],
  given: string,
  isHeld: (word: Word) => boolean,
): Result<boolean, Refusal> {
  const word = words.find((one) => one === given && one !== 'deny')
  if (word !== undefined) return ok(isHeld(word))
  const known = words.filter((one) => one !== 'deny').join(', ')
  return invalid(`unknown capability ${JSON.stringify(given)}; use one of ${known}`)
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
