import type { v2 } from '@reeve/contract'

/** What every tab of an organization is given. */
export interface OrganizationView {
  readonly organization: v2.Organization
  readonly search: URLSearchParams
}
