import type { v2 } from '@reeve/contract'

/** Props of every tab of the organization page. */
export interface OrganizationView {
  readonly organization: v2.Organization
  readonly search: URLSearchParams
}
