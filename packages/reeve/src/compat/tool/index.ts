export { TOOL_RESPONSE_HEADERS, TOOL_SERVICES } from './tool-protocol.ts'
