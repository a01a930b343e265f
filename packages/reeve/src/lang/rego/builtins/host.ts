import { formatAddress, parseAddress } from '../../../kit/ip-address.ts'
import { formatValue } from '../value/format.ts'
import { EMPTY_OBJECT, type ObjectValue, setOf } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'

/**
 * What reaches beyond the evaluation. Policies have no network: their verdict must not depend on
 * who answers, and must be the same when it is asked for again. The names exist so that a policy
 * written elsewhere loads, and `with` can replace them.
 */
export const HOST_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'opa.runtime', operands: [], result: 'object' },
    (context) => context.runtime ?? EMPTY_OBJECT,
  ),
  define({ name: 'http.send', operands: ['object'], result: 'object' }, refuseRequest),
  define({ name: 'net.lookup_ip_addr', operands: ['string'], result: 'set' }, (context, name) => {
    // An address needs no look-up.
    const address = parseAddress(name)
    return address === undefined
      ? context.fail('policies have no network')
      : setOf([formatAddress(address.address, address.bits)])
  }),
]

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

function refuseRequest(context: CallContext, request: ObjectValue): undefined {
  const strange = request.keys().filter((key) => typeof key !== 'string' || !ALLOWED.has(key))
  if (strange.length > 0)
    return context.failType(
      `operand 1 invalid request parameters(s): ${formatValue(setOf(strange))}`,
    )
  const missing = REQUIRED.filter((name) => !request.has(name))
  return missing.length > 0
    ? context.failType(
        `operand 1 missing required request parameters(s): ${formatValue(setOf(missing))}`,
      )
    : context.fail('policies have no network')
}
