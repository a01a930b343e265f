import { CONTAINER_SETTINGS } from '../../packages/reeve/src/drivers/docker/docker-config.ts'
import { EXEC_SETTINGS } from '../../packages/reeve/src/drivers/exec/exec-driver.ts'
import { RAW_EXEC_SETTINGS } from '../../packages/reeve/src/drivers/raw-exec/raw-exec-config.ts'
import type { ConfigFieldDocs } from '../../packages/reeve/src/drivers/config-reader.ts'
import { code, table, withPart } from './page.ts'

export const DRIVERS_PAGE = 'docs/reference/drivers.md'

const TABLES: Readonly<Record<string, ConfigFieldDocs>> = {
  exec: EXEC_SETTINGS,
  raw_exec: RAW_EXEC_SETTINGS,
  docker: CONTAINER_SETTINGS,
}

/** The page of the drivers with the settings of each one. */
export function driversPage(page: string): string {
  return Object.entries(TABLES).reduce(
    (text, [driver, settings]) => withPart(text, `${driver} settings`, settingsTable(settings)),
    page,
  )
}

function settingsTable(settings: ConfigFieldDocs): string {
  const rows = Object.entries(settings).map(([name, [type, help]]) => [
    code(name),
    code(type),
    help,
  ])
  return table(['Setting', 'Type', 'Description'], rows)
}
