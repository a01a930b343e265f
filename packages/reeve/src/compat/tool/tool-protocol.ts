/**
 * What the infrastructure tool expects of the host that it reads remote states from. A door of its
 * own: the runner of a phase starts without the tables of aliases.
 */

/** Services that the tool looks for at the host. */
export const TOOL_SERVICES = ['tfe.v2', 'tfe.v2.1', 'tfe.v2.2', 'state.v2'] as const

/** Headers of the responses, of which the tool checks the version of the API. */
export const TOOL_RESPONSE_HEADERS = {
  'content-type': 'application/vnd.api+json',
  'TFP-API-Version': '2.6',
} as const
