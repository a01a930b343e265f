import { options, type OptionName } from './options.ts'
import { settingName, type ConfigProblem } from './problem.ts'
import type { ResolvedSettings } from './resolved.ts'

/** Finds conflicting or incomplete `tls` settings. */
export function findTlsProblem(resolved: ResolvedSettings): ConfigProblem | undefined {
  const { server, tlsHttp, tlsRpc, tlsVerifyHttpsClient } = resolved.settings
  const { tlsCaFile, tlsCertFile, tlsKeyFile } = resolved.settings
  const hasPair = tlsCertFile !== undefined && tlsKeyFile !== undefined
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined))
    return configProblem(
      resolved,
      tlsCertFile === undefined ? 'tlsKeyFile' : 'tlsCertFile',
      'is given, but tls.cert_file and tls.key_file go together. Add the other one.',
    )
  if (tlsRpc && server && !tlsHttp)
    return configProblem(
      resolved,
      'tlsRpc',
      'is on and tls.http is off, but APIs, nodes and servers share one port. Turn tls.http on too.',
    )
  if (tlsRpc && (tlsCaFile === undefined || !hasPair))
    return configProblem(
      resolved,
      'tlsRpc',
      'is on, so tls.ca_file, tls.cert_file and tls.key_file are needed. Add what is missing.',
    )
  if (tlsHttp && server && !hasPair)
    return configProblem(
      resolved,
      'tlsHttp',
      'is on, so a server needs tls.cert_file and tls.key_file. Add them.',
    )
  if (tlsVerifyHttpsClient && (!tlsHttp || tlsCaFile === undefined))
    return configProblem(
      resolved,
      'tlsVerifyHttpsClient',
      'is on, which needs tls.http and the authority of those certificates in tls.ca_file.',
    )
  return undefined
}

function configProblem(
  { originOf }: ResolvedSettings,
  name: OptionName,
  predicate: string,
): ConfigProblem {
  const origin = originOf(name)
  return { origin, message: `${settingName(options[name], origin)} ${predicate}` }
}
