import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  DEFAULT_CIPHER_SUITES,
  loadTls,
  type TlsCredentials,
  type TlsSettings,
} from '../../src/tls/index.ts'

const FOLDER = join(import.meta.dirname, '../certificates')

/** Whose certificate; `server`, `client` and `user` are of the authority that tests believe. */
export type Holder =
  | 'server'
  | 'server-renewed'
  | 'server-eu'
  | 'client'
  | 'client-eu'
  | 'plain'
  | 'user'
  | 'foreign-server'
  | 'foreign-client'
  | 'server-auth-only'
  | 'client-auth-only'
  | 'server-chained'

export const AUTHORITY_FILE = join(FOLDER, 'authority.pem')
/** The authority that signed the certificates called `foreign`. */
export const STRANGER_FILE = join(FOLDER, 'stranger.pem')

/** Committed certificates, valid for a hundred years (decision 0039). */
export function certificateFiles(holder: Holder): { certFile: string; keyFile: string } {
  return { certFile: join(FOLDER, `${holder}.pem`), keyFile: join(FOLDER, `${holder}.key`) }
}

/** Their texts, with the authority, as connections take them. */
export function certificate(holder: Holder): { ca: string; cert: string; key: string } {
  const { certFile, keyFile } = certificateFiles(holder)
  const [ca, cert, key] = [AUTHORITY_FILE, certFile, keyFile].map((file) =>
    readFileSync(file, 'utf8'),
  )
  return { ca: ca ?? '', cert: cert ?? '', key: key ?? '' }
}

/** What an agent has that proves itself so; mutual unless said otherwise. */
export function aTls(holder: Holder, settings: Partial<TlsSettings> = {}): Promise<TlsCredentials> {
  return loadTls({
    region: 'global',
    isServer: false,
    isMutual: true,
    caFile: AUTHORITY_FILE,
    ...certificateFiles(holder),
    verifiesServerName: true,
    requiresClientCert: false,
    minVersion: 'tls12',
    cipherSuites: DEFAULT_CIPHER_SUITES,
    ...settings,
  })
}
