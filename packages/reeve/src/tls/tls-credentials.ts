import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { duplexPair } from 'node:stream'
import {
  checkServerIdentity,
  createSecureContext,
  type ConnectionOptions,
  type PeerCertificate,
  type TlsOptions,
  getCiphers,
  connect,
  createServer,
  type TLSSocket,
} from 'node:tls'
import { certificateErrorText, isUntrusted } from '@reeve/kit/certificate-error.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { certificateNames, roleName, roleNames } from './peer-role.ts'

export interface TlsSettings {
  readonly region: string
  /** Peers dial this agent as a server of its region. */
  readonly isServer: boolean
  /** Accepted domains of server and node names besides Reeve's own; none by default. */
  readonly otherDomains?: readonly string[]
  /** Servers and nodes verify each other's certificates, which name their role. */
  readonly isMutual: boolean
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  readonly verifiesServerName: boolean
  /** Every client must present a certificate. */
  readonly requiresClientCert: boolean
  readonly minVersion: TlsVersion
  /** Names as in OpenSSL; those of version 1.3 begin with `TLS_`. */
  readonly cipherSuites: readonly string[]
}

/** Content of the files when they were last read. */
interface PemMaterial {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

const HANDSHAKE_TIMEOUT_MS = 10_000

/** Reads the files, and rejects configurations with which connections would fail later. */
export async function loadTls(settings: TlsSettings): Promise<TlsCredentials> {
  return new TlsCredentials(settings, await readMaterial(settings))
}

/** Certificates of this agent, and the CAs that it trusts. Files are read again on reload. */
export class TlsCredentials {
  readonly #settings: TlsSettings
  readonly #reloadListeners = new Set<() => void>()
  #material: PemMaterial

  constructor(settings: TlsSettings, material: PemMaterial) {
    this.#settings = settings
    this.#material = material
  }

  /** Reports whether internal calls require a certificate. */
  get isMutual(): boolean {
    return this.#settings.isMutual
  }

  get otherDomains(): readonly string[] {
    return this.#settings.otherDomains ?? []
  }

  get region(): string {
    return this.#settings.region
  }

  /**
   * Returns public certificates in PEM form with which a program can verify this server without
   * local files.
   */
  get authorities(): string {
    const { cert = '', ca = '' } = this.#material
    return `${cert}\n${ca}`.trim()
  }

  /** Expiry of this agent's own certificate; changes with a reload. */
  get expiresAtMs(): number | undefined {
    const { cert } = this.#material
    return cert === undefined ? undefined : new X509Certificate(cert).validToDate.getTime()
  }

  /**
   * Reads the files again. Rejects with a Fault and keeps the previous configuration if they are
   * invalid.
   */
  async reload(): Promise<void> {
    this.#material = await readMaterial(this.#settings)
    for (const listener of this.#reloadListeners) listener()
  }

  /** Calls the listener after each reload, until the returned function is called. */
  onReload(listener: () => void): () => void {
    this.#reloadListeners.add(listener)
    return () => this.#reloadListeners.delete(listener)
  }

  /** Options for a listening port. */
  listenOptions(): TlsOptions {
    const { isMutual, requiresClientCert } = this.#settings
    return {
      ...this.#material,
      ...this.#protocolOptions(),
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      // Browsers and the CLI may connect without a certificate; servers and nodes must present one.
      requestCert: isMutual || requiresClientCert,
      rejectUnauthorized: requiresClientCert,
    }
  }

  /**
   * Options for a connection to a server of a region, or of any region. Read them for each
   * connection, so that reloads take effect.
   */
  dialOptions(region?: string): ConnectionOptions {
    return {
      ...this.#material,
      ...this.#protocolOptions(),
      checkServerIdentity: (host, certificate) => this.#checkServer(host, certificate, region),
    }
  }

  /**
   * Options for a connection to this agent's own port. Its certificate is trusted whatever its name
   * and issuer.
   */
  selfDialOptions(): ConnectionOptions {
    const { ca, cert } = this.#material
    if (cert === undefined) return this.dialOptions()
    const ownCertificate = new X509Certificate(cert).raw
    return {
      ...this.#material,
      ca: ca === undefined ? [cert] : [cert, ca],
      allowPartialTrustChain: true,
      ...this.#protocolOptions(),
      checkServerIdentity: (host, { raw }) =>
        ownCertificate.equals(raw)
          ? undefined
          : new Error(`${host} has another certificate than this agent`),
    }
  }

  #protocolOptions() {
    const { minVersion, cipherSuites } = this.#settings
    return { minVersion: NODE_TLS_VERSIONS[minVersion], ciphers: cipherSuites.join(':') } as const
  }

  #checkServer(host: string, certificate: PeerCertificate, region?: string): Error | undefined {
    const { isMutual, verifiesServerName } = this.#settings
    if (!verifiesServerName) return undefined
    const names = certificateNames(certificate)
    if (hasServerName(names, region, this.otherDomains)) return undefined
    if (!isMutual) return checkServerIdentity(host, certificate)
    const expectedName = roleName('server', region ?? 'REGION')
    return new Error(`the certificate of ${host} does not name it ${expectedName}`)
  }
}

function hasServerName(
  names: readonly string[],
  region: string | undefined,
  otherDomains: readonly string[],
): boolean {
  if (region !== undefined)
    return roleNames('server', region, otherDomains).some((name) => names.includes(name))
  const domains = ['reeve', ...otherDomains]
  return names.some((name) => {
    const parts = name.split('.')
    return parts.length > 2 && parts[0] === 'server' && domains.includes(parts.at(-1) ?? '')
  })
}

async function readMaterial(settings: TlsSettings): Promise<PemMaterial> {
  const { caFile, certFile, keyFile } = settings
  const [ca, cert, key] = await Promise.all([caFile, certFile, keyFile].map(readPem))
  const material: PemMaterial = {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  }
  try {
    createSecureContext({ ...material, ciphers: settings.cipherSuites.join(':') })
  } catch (thrown) {
    const files = [caFile, certFile, keyFile].filter((file) => file !== undefined).join(', ')
    throw new Fault('tls', `The certificates cannot be used (${files}): ${errorMessage(thrown)}.`)
  }
  // Without `tls.rpc`, other agents and browsers may trust another CA.
  if (settings.isMutual && ca !== undefined && cert !== undefined && key !== undefined)
    await validateOwnCertificate({ ca, cert, key }, { ...settings, nowMs: Date.now() })
  return material
}

async function readPem(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new Fault('tls', `A file of the tls settings cannot be read: ${errorMessage(thrown)}.`)
  })
  // A file without a certificate would parse as an empty list, and every client would be rejected.
  if (text.includes('-----BEGIN ')) return text
  throw new Fault('tls', `${file} holds no certificate or key in PEM form.`)
}

export const TLS_VERSIONS = ['tls12', 'tls13'] as const
export type TlsVersion = (typeof TLS_VERSIONS)[number]

/** Names of the versions in Node's TLS options. */
const NODE_TLS_VERSIONS = {
  tls12: 'TLSv1.2',
  tls13: 'TLSv1.3',
} as const satisfies Record<TlsVersion, string>

/**
 * Forward secrecy and authenticated encryption only: the suites with CBC or SHA-1 that the runtime
 * also offers for TLS 1.2 have known weaknesses, and no supported client needs them.
 */
export const DEFAULT_CIPHER_SUITES: readonly string[] = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
]

/** Reports whether the TLS library has this suite, named as by `openssl ciphers`. */
export function isCipherSuite(name: string): boolean {
  // The runtime lists names in lower case, and takes them in upper case only.
  return name === name.toUpperCase() && getCiphers().includes(name.toLowerCase())
}

/** Expectations that peers have of this agent's certificate. */
interface CertificateExpectation {
  readonly region: string
  readonly isServer: boolean
  /** Accepted domains of server names besides Reeve's own. */
  readonly otherDomains?: readonly string[]
  /** Whether clients verify the name of a server. */
  readonly verifiesServerName: boolean
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly nowMs: number
}

/** Throws a Fault if peers would reject the certificate. */
async function validateOwnCertificate(
  material: { readonly ca: string; readonly cert: string; readonly key: string },
  expected: CertificateExpectation,
): Promise<void> {
  const certificate = new X509Certificate(material.cert)
  const problem =
    certificateProblem(certificate, expected) ?? chainProblem(await verifyChain(material), expected)
  if (problem !== undefined)
    throw new Fault('tls', `The certificate of ${expected.certFile} ${problem}`)
}

/** Returns a problem with the dates or names of the certificate; undefined if there is none. */
export function certificateProblem(
  certificate: X509Certificate,
  {
    region,
    isServer,
    verifiesServerName,
    otherDomains = [],
    nowMs,
  }: Pick<
    CertificateExpectation,
    'region' | 'isServer' | 'verifiesServerName' | 'otherDomains' | 'nowMs'
  >,
): string | undefined {
  const { validFromDate, validToDate } = certificate
  if (validToDate.getTime() < nowMs)
    return `is valid only until ${validToDate.toISOString()}. Put a new one there.`
  if (validFromDate.getTime() > nowMs)
    return `is valid only from ${validFromDate.toISOString()}. Look at the clock of this machine.`
  if (!isServer || !verifiesServerName) return undefined
  const expectedName = roleName('server', region)
  const accepted = roleNames('server', region, otherDomains)
  const names = certificateNames(certificate.toLegacyObject())
  if (accepted.some((name) => names.includes(name))) return undefined
  const actualNames = names.length === 0 ? 'no name' : names.join(', ')
  return `does not name this server ${expectedName}, but ${actualNames}. Other agents would reject it.`
}

/** Servers also act as clients: of each other and of other regions. */
function chainProblem(
  { asServer, asClient }: ChainErrors,
  { isServer, caFile }: CertificateExpectation,
): string | undefined {
  const code = (isServer ? asServer : undefined) ?? asClient
  if (code === undefined) return undefined
  const usage = code === asClient ? 'clientAuth' : 'serverAuth'
  const problem = certificateErrorText(code, String(caFile), usage)
  return `${problem}: other agents would reject it. ${chainAdvice(code)}`
}

function chainAdvice(code: string): string {
  if (isUntrusted(code))
    return (
      'Add the certificate of its authority to tls.ca_file, and intermediate certificates to ' +
      'tls.cert_file.'
    )
  if (code === 'INVALID_PURPOSE') return 'Issue one with extendedKeyUsage = serverAuth, clientAuth.'
  return 'Its own dates are right: look at those of its authorities.'
}

/** A handshake in memory takes a few milliseconds. */
const VERIFY_TIMEOUT_MS = 10_000

interface CertificateMaterial {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Error codes of Node; undefined if the certificate is accepted. */
interface ChainErrors {
  /** Error of a client that verifies the certificate as a server's. */
  readonly asServer: string | undefined
  /** Error of a server that verifies the certificate as a client's. */
  readonly asClient: string | undefined
}

/**
 * Verifies a certificate as other agents will: both sides of a handshake in memory present it and
 * trust only `ca`. So the TLS library itself checks chains, dates, constraints and key usages.
 */
async function verifyChain(material: CertificateMaterial): Promise<ChainErrors> {
  const [clientEnd, serverEnd] = duplexPair()
  const server = createServer({ ...material, requestCert: true, rejectUnauthorized: false })
  const signal = AbortSignal.timeout(VERIFY_TIMEOUT_MS)
  const accepted = once(server, 'secureConnection', { signal })
  server.emit('connection', serverEnd)
  const client = connect({
    ...material,
    socket: clientEnd,
    rejectUnauthorized: false,
    // Role names are validated separately.
    checkServerIdentity: () => undefined,
  })
  try {
    // The event carries the socket of the server.
    const [[peer]] = (await Promise.all([accepted, once(client, 'secureConnect', { signal })])) as [
      [TLSSocket],
      unknown,
    ]
    return { asServer: authorizationErrorCode(client), asClient: authorizationErrorCode(peer) }
  } finally {
    client.destroy()
    clientEnd.destroy()
    serverEnd.destroy()
  }
}

function authorizationErrorCode({ authorized, authorizationError }: TLSSocket): string | undefined {
  // Typed as an Error; the runtime stores its code.
  return authorized ? undefined : String(authorizationError)
}
