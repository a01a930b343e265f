import { options, type OptionName } from './options.ts'
import { subjectOf, type ConfigProblem } from './problem.ts'
import type { Resolved } from './resolved.ts'

/** Settings of `tls` that are wrong together, or lack another. */
export function findTlsProblem(resolved: Resolved): ConfigProblem | undefined {
  const { server, tlsHttp, tlsRpc, tlsVerifyHttpsClient } = resolved.settings
  const { tlsCaFile, tlsCertFile, tlsKeyFile } = resolved.settings
  const hasPair = tlsCertFile !== undefined && tlsKeyFile !== undefined
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined))
    return problem(
      resolved,
      tlsCertFile === undefined ? 'tlsKeyFile' : 'tlsCertFile',
      'is given, but tls.cert_file and tls.key_file go together. Add the other one.',
    )
  if (tlsRpc && server && !tlsHttp)
    return problem(
      resolved,
      'tlsRpc',
      'is on and tls.http is off, but APIs, nodes and servers share one port. Turn tls.http on too.',
    )
  if (tlsRpc && (tlsCaFile === undefined || !hasPair))
    return problem(
      resolved,
      'tlsRpc',
      'is on, so tls.ca_file, tls.cert_file and tls.key_file are needed. Add what is missing.',
    )
  if (tlsHttp && server && !hasPair)
    return problem(
      resolved,
      'tlsHttp',
      'is on, so a server needs tls.cert_file and tls.key_file. Add them.',
    )
  if (tlsVerifyHttpsClient && (!tlsHttp || tlsCaFile === undefined))
    return problem(
      resolved,
      'tlsVerifyHttpsClient',
      'is on, which needs tls.http and the authority of those certificates in tls.ca_file.',
    )
  return undefined
}

function problem({ originOf }: Resolved, name: OptionName, says: string): ConfigProblem {
  const origin = originOf(name)
  return { origin, message: `${subjectOf(options[name], origin)} ${says}` }
}
