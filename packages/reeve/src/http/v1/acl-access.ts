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
import { unwatchedRead } from './node-answer.ts'
import { allowAll } from './requirements.ts'

type Grants = Caller['grants']

/** Returns the route that checks a capability of the caller, by the grants that all routes use. */
export function aclAccessEndpoints({ aclEnabled }: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.checkAccess, allowAll, ({ caller, namespace, query }) =>
      unwatchedRead(async () => {
        const { capability: Capability = '', name: Name = '' } = query
        const allowed = isAllowed(caller.grants, { capability: Capability, namespace, name: Name })
        if (!allowed.ok) return allowed
        const Allowed = allowed.value
        const responseBody: AclAccess = {
          Capability,
          Namespace: namespace,
          Name,
          Allowed,
          AclEnabled: aclEnabled,
        }
        return ok(json(responseBody))
      }),
    ),
  ]
}

interface AccessCheck {
  /** `submit-job` or, with its kind, `node:write`. */
  readonly capability: string
  readonly namespace: string
  readonly name: string
}

const LEVELS = ['read', 'write'] as const

function isAllowed(
  grants: Grants,
  { capability, namespace, name }: AccessCheck,
): Result<boolean, Refusal> {
  if (capability === '') return invalid('missing capability')
  if (capability === 'management') return ok(grants.isManagement)
  const colon = capability.indexOf(':')
  const kind = colon === -1 ? 'namespace' : capability.slice(0, colon)
  const capabilityName = capability.slice(colon + 1)
  switch (kind) {
    case 'namespace':
      return checkCapability(NAMESPACE_CAPABILITIES, capabilityName, (one) =>
        namespace === '*' ? grants.allowsInAnyNamespace(one) : grants.allows(namespace, one),
      )
    case 'node':
      return checkCapability(LEVELS, capabilityName, (one) => grants.node(one))
    case 'agent':
      return checkCapability(LEVELS, capabilityName, (one) => grants.agent(one))
    case 'operator':
      return checkCapability([...LEVELS, ...OPERATOR_CAPABILITIES], capabilityName, (one) =>
        grants.operator(one),
      )
    case 'node_pool':
      return (
        missingName(name, kind) ??
        checkCapability(NODE_POOL_CAPABILITIES, capabilityName, (one) => grants.nodePool(name, one))
      )
    case 'host_volume':
      return (
        missingName(name, kind) ??
        checkCapability(HOST_VOLUME_CAPABILITIES, capabilityName, (one) =>
          grants.hostVolume(name, one),
        )
      )
    case 'variables':
      if (namespace === '*')
        return invalid('a capability of the kind variables needs one namespace, not *')
      return (
        missingName(name, kind) ??
        checkCapability(VARIABLE_CAPABILITIES, capabilityName, (one) =>
          grants.variable(namespace, name, one),
        )
      )
    default:
      return invalid(`unknown kind ${JSON.stringify(kind)}; use one of ${KINDS}`)
  }
}

const KINDS = 'namespace, node, agent, operator, node_pool, host_volume, variables'

function missingName(name: string, kind: string): Result<boolean, Refusal> | undefined {
  return name === '' ? invalid(`a capability of the kind ${kind} needs a name`) : undefined
}

/** Checks a capability by name. `deny` appears in rules but is not a capability. */
function checkCapability<Word extends string>(
  capabilities: readonly Word[],
  name: string,
  isGranted: (capability: Word) => boolean,
): Result<boolean, Refusal> {
  const capability = capabilities.find((one) => one === name && one !== 'deny')
  if (capability !== undefined) return ok(isGranted(capability))
  const validNames = capabilities.filter((one) => one !== 'deny').join(', ')
  return invalid(`unknown capability ${JSON.stringify(name)}; use one of ${validNames}`)
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
