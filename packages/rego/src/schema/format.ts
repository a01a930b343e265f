import { parseAddress } from '@reeve/kit/ip-address.ts'
import { parseTime } from '@reeve/go-template/time'
import { compilePattern } from '../pattern/pattern.ts'
import { parseUrl } from '@reeve/go-template/url'

const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const HOST = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`)

/** Formats that are checked; a name that is not here says nothing. */
export const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['date', (text: string) => parseTime('2006-01-02', text) !== undefined],
  ['time', (text: string) => parseTime('15:04:05Z07:00', text) !== undefined],
  ['date-time', (text: string) => parseTime('2006-01-02T15:04:05Z07:00', text) !== undefined],
  ['email', (text: string) => text.length < 320 && /^[^\s@]+@[^\s@]+$/.test(text)],
  ['hostname', (text: string) => text.length < 254 && HOST.test(text)],
  ['ipv4', (text: string) => parseAddress(text)?.bits === 32],
  ['ipv6', (text: string) => parseAddress(text)?.bits === 128],
  ['uri', (text: string) => isUri(text)],
  ['uri-reference', (text: string) => parseUrl(text).ok],
  ['uuid', (text: string) => /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text)],
  ['regex', (text: string) => compilePattern(text).ok],
])

function isUri(text: string): boolean {
  const url = parseUrl(text)
  return url.ok && url.value.scheme !== ''
}
