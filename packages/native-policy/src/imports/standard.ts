import type { MapValue } from '../value/value.ts'
import { collectionImport, listsImport, mapsImport } from './collection.ts'
import { decimalImport } from './decimal.ts'
import { jsonImport } from './json.ts'
import {
  base64Import,
  runtimeImport,
  sockaddrImport,
  typesImport,
  unitsImport,
} from './small-imports.ts'
import { stringsImport } from './strings.ts'
import { timeImport, type TimeSettings } from './time.ts'
import { versionImport } from './version.ts'

export interface StandardImportOptions {
  readonly time: TimeSettings
  /** Version of this program, returned by `runtime.version`. */
  readonly version: string
}

type Make = (settings: StandardImportOptions) => MapValue

const STANDARD: ReadonlyMap<string, Make> = new Map<string, Make>([
  ['base64', base64Import],
  ['collection', collectionImport],
  ['collection/lists', listsImport],
  ['collection/maps', mapsImport],
  ['decimal', decimalImport],
  ['json', jsonImport],
  ['runtime', ({ version }) => runtimeImport(version)],
  ['sockaddr', sockaddrImport],
  ['strings', stringsImport],
  ['time', ({ time }) => timeImport(time)],
  ['types', typesImport],
  ['units', unitsImport],
  ['version', versionImport],
])

/** The imports available to every policy. */
export const STANDARD_IMPORTS: ReadonlySet<string> = new Set(STANDARD.keys())

export function standardImport(
  path: string,
  settings: StandardImportOptions,
): MapValue | undefined {
  return STANDARD.get(path)?.(settings)
}
