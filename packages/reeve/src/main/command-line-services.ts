// tidy-allow vendor: names that command-line tools look for, in one table
import type { ServiceDiscovery } from '../http/index.ts'

/** The services of a host, under the names by which the command-line tools look for them. */
export const DISCOVERY: ServiceDiscovery = {
  path: '/.well-known/terraform.json',
  services: {
    'tfe.v2': '/api/v2/',
    'tfe.v2.1': '/api/v2/',
    'tfe.v2.2': '/api/v2/',
    'state.v2': '/api/v2/',
  },
}

/** By these headers the tools decide what the host can do. */
export const GOVERNANCE_HEADERS: Readonly<Record<string, string>> = {
  'tfp-api-version': '2.6',
  'tfp-appname': 'Reeve',
  // Plans are shown with the structure of their log from this version on.
  'x-tfe-version': 'v202302-1',
}
