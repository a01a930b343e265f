import type { GovernanceAliases } from './aliases.ts'

/*
 * Names of Terraform Enterprise and HCP Terraform, whose clients work unchanged
 * (docs/reference/compatibility.md).
 */
export const GOVERNANCE: GovernanceAliases = {
  responseHeaders: {
    'tfp-api-version': '2.6',
    'tfp-appname': 'Reeve',
    // Clients show the structured log of a plan from this version on.
    'x-tfe-version': 'v202302-1',
  },
  notificationHeaders: { 'x-reeve-notification-signature': 'x-tfe-notification-signature' },
  policyKinds: { sentinel: 'native' },
  members: {
    'terraform-version': 'tool-version',
    'can-update-sentinel': 'can-update-policies',
    'sentinel-mocks': 'policy-mocks',
    sentinel: 'native',
  },
  nested: ['workspace-access', 'permissions'],
  // The command-line tool, and programs on the Go client.
  memberHeaders: [
    { name: 'terraform-version', prefix: '' },
    { name: 'user-agent', prefix: 'go-tfe' },
  ],
  structuredLogHeader: { name: 'x-terraform-integration', value: 'cloud' },
  responseMembers: {
    // The command-line tool refuses to write the state of a workspace without a readable version.
    'tool-version': { name: 'terraform-version', nullValue: 'latest' },
    'can-update-policies': { name: 'can-update-sentinel' },
    'policy-mocks': { name: 'sentinel-mocks' },
  },
  values: { kind: { sentinel: 'native' }, source: { 'tfe-api': 'api' } },
  discoveryPath: '/.well-known/terraform.json',
  discovery: {
    'tfe.v2': '/api/v2/',
    'tfe.v2.1': '/api/v2/',
    'tfe.v2.2': '/api/v2/',
    'state.v2': '/api/v2/',
  },
}

export const GOVERNANCE_ENVIRONMENT = {
  TFE_ADDRESS: 'REEVE_ADDR',
  TFE_TOKEN: 'REEVE_TOKEN',
} as const
