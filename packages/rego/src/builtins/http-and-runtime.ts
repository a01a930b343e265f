import { formatAddress, parseAddress } from '@reeve/kit/ip-address.ts'
import { formatValue } from '../value/format.ts'
import { EMPTY_OBJECT, objectOf, type ObjectValue, setOf } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'

/**
 * Builtins that need access to the host or the network. Policies have no network access: a verdict
 * must not depend on a remote server, and must be reproducible. The names exist so that existing
 * policies load, and `with` can replace them. Any other call aborts the evaluation: with an
 * undefined result, a rule that denies by a network response would never deny.
 */
export const HOST_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'opa.runtime', operands: [], result: 'object' },
    (context) => context.runtime ?? EMPTY_OBJECT,
  ),
  define({ name: 'http.send', operands: ['object'], result: 'object' }, refuseRequest),
  define({ name: 'net.lookup_ip_addr', operands: ['string'], result: 'set' }, (context, name) => {
    // An address needs no lookup.
    const address = parseAddress(name)
    return address === undefined
      ? context.refuse(NO_NETWORK)
      : setOf([formatAddress(address.address, address.bits)])
  }),
]

const NO_NETWORK = 'policies have no network'

const REQUIRED = ['method', 'url'] as const
const ALLOWED: ReadonlySet<string> = new Set([
  ...REQUIRED,
  'body',
  'caching_mode',
  'cache',
  'cache_ignored_headers',
  'enable_redirect',
  'force_cache',
  'force_cache_duration_seconds',
  'force_json_decode',
  'force_yaml_decode',
  'headers',
  'max_retry_attempts',
  'raise_error',
  'raw_body',
  'timeout',
  'tls_ca_cert',
  'tls_ca_cert_env_variable',
  'tls_ca_cert_file',
  'tls_client_cert',
  'tls_client_cert_env_variable',
  'tls_client_cert_file',
  'tls_client_key',
  'tls_client_key_env_variable',
  'tls_client_key_file',
  'tls_insecure_skip_verify',
  'tls_server_name',
  'tls_use_system_certs',
])

function refuseRequest(context: CallContext, request: ObjectValue): ObjectValue | undefined {
  const strange = request.keys().filter((key) => typeof key !== 'string' || !ALLOWED.has(key))
  if (strange.length > 0)
    return context.failType(
      `operand 1 invalid request parameters(s): ${formatValue(setOf(strange))}`,
    )
  const missing = REQUIRED.filter((name) => !request.has(name))
  if (missing.length > 0)
    return context.failType(
      `operand 1 missing required request parameters(s): ${formatValue(setOf(missing))}`,
    )
  return request.get('raise_error') === false ? unanswered() : context.refuse(NO_NETWORK)
}

/** Returns the response to a policy that asked for errors as values. */
function unanswered(): ObjectValue {
  const error = objectOf([
    ['code', 'eval_http_send_network_error'],
    ['message', NO_NETWORK],
  ])
  return objectOf([
    ['status_code', 0],
    ['error', error],
  ])
}
